/* Asks Apache Kafka's own classes: one question a line on stdin, one answer a line on stdout.
   Run by recording.py. */

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.MetricNameTemplate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.MetricValueProvider;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;

public class Answers {
    static final class Asker implements AuthorizableRequestContext {
        final KafkaPrincipal principal;
        final InetAddress address;

        Asker(String principal, String host) throws Exception {
            this.principal = SecurityUtils.parseKafkaPrincipal(principal);
            this.address = InetAddress.getByName(host);
        }

        public String listenerName() { return "EXTERNAL"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.SASL_SSL; }
        public KafkaPrincipal principal() { return principal; }
        public InetAddress clientAddress() { return address; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return "client"; }
        public int correlationId() { return 0; }
    }

    static final class NoMetrics implements PluginMetrics {
        final Metrics metrics = new Metrics();

        public MetricName metricName(String name, String text, LinkedHashMap<String, String> tags) {
            return metrics.metricName(name, "plugins", text, tags);
        }
        public void addMetric(MetricName name, MetricValueProvider<?> provider) { }
        public void removeMetric(MetricName name) { }
        public Sensor addSensor(String name) { return metrics.sensor(name); }
        public void removeSensor(String name) { }
    }

    static StandardAuthorizer authorizer;

    static String orNull(String text) {
        return text.equals("\\N") ? null : text;
    }

    static ResourceType type(String code) { return ResourceType.fromCode(Byte.parseByte(code)); }
    static PatternType pattern(String code) { return PatternType.fromCode(Byte.parseByte(code)); }
    static AclOperation operation(String code) { return AclOperation.fromCode(Byte.parseByte(code)); }
    static AclPermissionType permission(String code) {
        return AclPermissionType.fromCode(Byte.parseByte(code));
    }

    static String answer(String[] ask) throws Exception {
        switch (ask[0]) {
            case "world": {
                authorizer = new StandardAuthorizer();
                authorizer.withPluginMetrics(new NoMetrics());
                Map<String, String> configs = new HashMap<>();
                configs.put("super.users", ask[1]);
                configs.put("allow.everyone.if.no.acl.found", ask[2]);
                authorizer.configure(configs);
                authorizer.completeInitialLoad();
                return "ok";
            }
            case "acl":
                authorizer.addAcl(Uuid.randomUuid(), new StandardAcl(type(ask[1]), ask[2],
                    pattern(ask[3]), ask[4], ask[5], operation(ask[6]), permission(ask[7])));
                return "ok";
            case "ask":
                return authorizer.authorize(new Asker(ask[1], ask[2]), List.of(new Action(
                    operation(ask[3]), new ResourcePattern(type(ask[4]), ask[5],
                    PatternType.LITERAL), 1, false, false))).get(0).toString();
            case "some":
                return authorizer.authorizeByResourceType(
                    new Asker(ask[1], ask[2]), operation(ask[3]), type(ask[4])).toString();
            case "filter": {
                List<String> found = new ArrayList<>();
                for (AclBinding binding : authorizer.acls(new AclBindingFilter(
                    new ResourcePatternFilter(type(ask[1]), orNull(ask[2]), pattern(ask[3])),
                    new AccessControlEntryFilter(orNull(ask[4]), orNull(ask[5]),
                        operation(ask[6]), permission(ask[7])))))
                    found.add(String.join("|", "" + binding.pattern().resourceType().code(),
                        binding.pattern().name(), "" + binding.pattern().patternType().code(),
                        binding.entry().principal(), binding.entry().host(),
                        "" + binding.entry().operation().code(),
                        "" + binding.entry().permissionType().code()));
                found.sort(null);
                return String.join(" ", found);
            }
            case "name": {
                X509Certificate certificate = (X509Certificate) CertificateFactory
                    .getInstance("X.509").generateCertificate(
                        new ByteArrayInputStream(HexFormat.of().parseHex(ask[1])));
                return certificate.getSubjectX500Principal().getName();
            }
            case "map":
                return SslPrincipalMapper.fromRules(ask[1]).getName(ask[2]);
            case "jaas": {
                String text = new String(Base64.getDecoder().decode(ask[1]), StandardCharsets.UTF_8);
                var entries = JaasContext.loadClientContext(
                    Map.of("sasl.jaas.config", new Password(text))).configurationEntries();
                return entries.get(0).getLoginModuleName() + " "
                    + new TreeMap<String, Object>(entries.get(0).getOptions());
            }
            default:
                throw new IllegalArgumentException(ask[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.split("\t", -1));
            } catch (Throwable error) {
                answer = "!" + error.getClass().getSimpleName();
            }
            out.println("=" + answer.replace("\n", "\\n"));
        }
    }
}
