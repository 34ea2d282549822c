"""Options of a broker or controller, as `server.properties` names them; a file for each area.

Rows as `options` reads them: name, kind, default, accepted values, update mode, importance, flags,
then after `<` the broker options asked when it is not set; the next line says what it is for.
"""

from ottla.config.broker_options.groups import GROUPS
from ottla.config.broker_options.logs import LOGS
from ottla.config.broker_options.metrics import METRICS
from ottla.config.broker_options.network import NETWORK
from ottla.config.broker_options.nodes import NODES
from ottla.config.broker_options.quotas import QUOTAS
from ottla.config.broker_options.remote_storage import REMOTE_STORAGE
from ottla.config.broker_options.replication import REPLICATION
from ottla.config.broker_options.security import SECURITY
from ottla.config.broker_options.share_groups import SHARE_GROUPS
from ottla.config.broker_options.transactions import TRANSACTIONS

BROKER = (
    GROUPS,
    LOGS,
    METRICS,
    NETWORK,
    NODES,
    QUOTAS,
    REMOTE_STORAGE,
    REPLICATION,
    SECURITY,
    SHARE_GROUPS,
    TRANSACTIONS,
)
