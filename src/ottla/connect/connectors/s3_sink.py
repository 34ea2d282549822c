"""s3-sink: files in a bucket, under the keys of Confluent's S3 connector."""

from ottla.connect.connector import Config
from ottla.connect.connectors.object_files.keys import SHARED, check_served
from ottla.connect.connectors.object_files.making import files_sink
from ottla.connect.connectors.object_files.sink import FilesSink
from ottla.connect.connectors.object_files.stores import S3Store
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import non_empty, one_of

DEFINITIONS = SHARED | Definitions(
    (
        Key(
            name="s3.bucket.name",
            kind=Kind.STRING,
            importance="HIGH",
            doc="The bucket.",
            group="S3",
            validator=non_empty,
        ),
        Key(
            name="s3.region",
            kind=Kind.STRING,
            default="us-west-2",
            doc="The region of the bucket.",
            group="S3",
        ),
        Key(
            name="aws.access.key.id",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The id of the access key; unset: as AWS's own tools find it.",
            group="S3",
        ),
        Key(
            name="aws.secret.access.key",
            kind=Kind.PASSWORD,
            default=None,
            importance="HIGH",
            doc="The secret of the access key.",
            group="S3",
        ),
        Key(
            name="s3.compression.type",
            kind=Kind.STRING,
            default="none",
            importance="LOW",
            doc="How files of JSON and bytes are compressed: none or gzip.",
            group="S3",
            validator=one_of("none", "gzip"),
        ),
    )
)
_IGNORED = frozenset(
    {
        "s3.compression.level",
        "s3.elastic.buffer.enable",
        "s3.http.send.expect.continue",
        "s3.part.retries",
        "s3.part.size",
        "s3.path.style.access.enabled",
        "s3.retry.backoff.ms",
    }
)  # of the way that bytes travel; they change no result


def make(config: Config, alias: str) -> FilesSink:
    values = DEFINITIONS.parse(config)
    check_served(config, DEFINITIONS, _IGNORED | {"storage.class"})
    store = S3Store(
        bucket=values["s3.bucket.name"],
        region=values["s3.region"],
        endpoint=values["store.url"],
        access_key=values["aws.access.key.id"],
        secret_key=values["aws.secret.access.key"],
    )
    gzipped = values["s3.compression.type"] == "gzip"
    return files_sink(config, values, store, gzipped=gzipped, end_offset=False)
