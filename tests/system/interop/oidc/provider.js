// An OpenID provider on a port of the loopback: one client, whose tokens are JWTs for "kafka".
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "machine",
      client_secret: "of-the-machine",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:kafka",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: "kafka",
        audience: "kafka",
        accessTokenTTL: 60,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
});
provider.listen(port, "127.0.0.1", () => console.log("ready"));
