"""The controller of a node: dormant until the quorum makes the node its leader.

Takes requests as the wire brings them and answers when their records are committed. Here are the
parts that need time and memory (sessions of brokers, what is done from time to time); what is
decided, and why, stands in the module named after each subject. Those modules are imported with
the first request: a start needs few of them.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ottla.config.settings import Settings
from ottla.controller import brokers, registration
from ottla.controller.availability import fence
from ottla.controller.decision import ControllerResult, all_partitions, check_broker_epoch
from ottla.controller.mutation_quotas import MutationQuotas
from ottla.controller.policies import NO_POLICIES, Policies
from ottla.controller.sessions import BrokerSessions
from ottla.controller.writer import AppendableLog, RecordWriter
from ottla.metadata.features import MIN_IN_SYNC, activation_records
from ottla.metadata.image import Delta, Image
from ottla.metadata.publisher import Publisher
from ottla.metadata.records import unframe
from ottla.ports.chance import Chance
from ottla.ports.hosts import is_known_host
from ottla.ports.recurring import every
from ottla.wire.message import Message
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from ottla.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from ottla.wire.records.metadata import AbortTransactionRecord, NoOpRecord

if TYPE_CHECKING:
    from ottla.controller.tokens import TokenPolicy
    from ottla.security.quotas import Charge
    from ottla.wire.envelope import Origin
    from ottla.wire.messages import (
        allocate_producer_ids,
        alter_client_quotas,
        alter_configs,
        alter_partition,
        alter_partition_reassignments,
        alter_user_scram_credentials,
        assign_replicas_to_dirs,
        create_acls,
        create_delegation_token,
        create_partitions,
        create_topics,
        delete_acls,
        delete_topics,
        elect_leaders,
        expire_delegation_token,
        incremental_alter_configs,
        list_partition_reassignments,
        renew_delegation_token,
        unregister_broker,
        update_features,
    )

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
STANDSTILL_SECONDS = 1.0
"""Beyond that this process itself was stopped or starved, and could hear nobody."""
LATELY_S = 30.0
"""So long after it came a broker is the last choice to take over from one that died."""
OWNED = frozenset(("create_delegation_token", "renew_delegation_token", "expire_delegation_token"))
"""What they are about belongs to whoever asks."""
M = TypeVar("M", bound=Message)


class Controller:
    def __init__(
        self,
        quorum: AppendableLog,
        publisher: Publisher,
        settings: Settings,
        *,
        node_id: int,
        cluster_id: str,
        bootstrap: Sequence[bytes],
        now: Callable[[], float],
        now_ms: Callable[[], int],
        chance: Chance,
        policies: Policies = NO_POLICIES,
        is_known_host: Callable[[str], Awaitable[bool]] = is_known_host,
    ) -> None:
        """`bootstrap` has the values of `bootstrap.checkpoint`, `now` is a monotonic clock, and
        `now_ms` the time of the day."""
        self.settings = settings
        self.node_id = node_id
        self.cluster_id = cluster_id
        self._quorum = quorum
        self._publisher = publisher
        self._bootstrap = bootstrap
        self._now = now
        self._now_ms = now_ms
        self._chance = chance
        self._policies = policies
        self._is_known_host = is_known_host
        self._mutation_quotas = MutationQuotas(settings, now)
        self._writer = RecordWriter(quorum)
        self._sessions = BrokerSessions((), 0.0, 0.0)
        self._woken = 0.0
        self._idle_since = -1
        self._due: dict[str, float] = {}
        self._came: dict[int, float] = {}
        self._tokens: TokenPolicy | None = None
        publisher.subscribe_leader(self._leader_changed)
        publisher.subscribe(self._image_changed)
        publisher.subscribe(self._mutation_quotas.image_changed)

    @property
    def active(self) -> bool:
        return self._writer.active

    # Becoming and ceasing to be the active one ---------------------------------------------

    def _leader_changed(self, leader_id: int | None, epoch: int) -> None:
        if leader_id != self.node_id:
            if self._writer.active:
                log.info("No longer the active controller (epoch %d)", epoch)
            self._writer.deactivate()
            return
        image = self._publisher.image
        self._writer.activate(image)
        timeout = self.settings.int("broker.session.timeout.ms") / 1000
        self._sessions = BrokerSessions(image.brokers.values(), self._now(), timeout)
        self._due = {}
        if self._publisher.in_transaction:
            self._writer.append([AbortTransactionRecord(reason="The controller changed.")])
        if not image.features:
            levels = [unframe(one) for one in self._bootstrap]
            least = self.settings.int(MIN_IN_SYNC)
            self._writer.append(activation_records(levels, least))
        log.info("The active controller of epoch %d", epoch)

    def _fence(self, broker_id: int) -> None:
        records = fence(self._writer.image, self.settings, broker_id, self._came_lately())
        self._writer.append(records, atomic=False)
        self._sessions.end(broker_id)
        log.warning("Broker %d is fenced", broker_id)

    def _image_changed(self, image: Image, delta: Delta) -> None:
        """Every controller sees brokers come: any of them may be the next active one."""
        for broker_id, before in delta.brokers.items():
            after = image.brokers.get(broker_id)
            if after is not None and (before is None or before.epoch != after.epoch):
                self._came[broker_id] = self._now()

    def _came_lately(self) -> dict[int, float]:
        since = self._now() - LATELY_S
        return {broker_id: at for broker_id, at in self._came.items() if at > since}

    async def ask(self, request: Message, response: type[M], origin: "Origin | None" = None) -> M:
        """Any request that the controller answers: the method below that is named after its API.
        With an origin it is a client's: what hangs on whose it is, and counts for its quota."""
        name = type(request).__module__.rpartition(".")[2]
        decide = getattr(self, name)
        if name in OWNED:
            return await decide(request, "" if origin is None else origin.principal)  # type: ignore[no-any-return]
        charge = self._mutation_quotas.charge(name, origin)
        if charge is None:
            return await decide(request)  # type: ignore[no-any-return]
        answer: M = await decide(request, charge)
        answer.throttle_time_ms = charge.throttle_ms  # type: ignore[attr-defined]
        return answer

    # Brokers and controllers ---------------------------------------------------------------

    async def broker_registration(
        self, ask: BrokerRegistrationRequest
    ) -> BrokerRegistrationResponse:
        now = self._now()
        image = self._writer.image
        registration.check_registration(image, ask, self.cluster_id)
        existing = image.brokers.get(ask.broker_id)
        if existing is not None and registration.succeeds(ask, existing):
            self._fence(existing.id)
            existing = image.brokers[existing.id]
        decision = registration.register_broker(
            image,
            self.settings,
            ask,
            epoch=self._writer.next_offset,
            in_session=existing is not None and self._sessions.alive(existing, now),
        )
        self._sessions.begin(ask.broker_id, now)
        epoch = await self._writer.decide(lambda _: decision)
        return BrokerRegistrationResponse(broker_epoch=epoch)

    async def broker_heartbeat(self, ask: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        image, broker_id = self._writer.image, ask.broker_id
        check_broker_epoch(image, broker_id, ask.broker_epoch)
        broker = image.brokers[broker_id]
        after = brokers.next_state(
            broker,
            ask,
            leads=ask.want_shut_down and _leads(image, broker_id),
            others_know=ask.want_shut_down and self._sessions.others_know(image, broker_id),
        )
        before = brokers.state_of(broker)
        decision = brokers.heartbeat(image, self.settings, ask, after)
        self._sessions.touch(broker_id, self._now(), ask.current_metadata_offset)
        self._writer.append(decision.records, atomic=False)
        if after is brokers.BrokerControlState.SHUTTING_DOWN and before is not after:
            self._sessions.shutting_down(broker_id, image.offset)
        if decision.records:
            await self._writer.committed()
        return BrokerHeartbeatResponse(
            is_caught_up=ask.current_metadata_offset >= broker.epoch,
            is_fenced=after
            in (brokers.BrokerControlState.FENCED, brokers.BrokerControlState.SHUT_DOWN),
            should_shut_down=after is brokers.BrokerControlState.SHUT_DOWN,
        )

    async def broker_lost(self, broker_id: int) -> None:
        """It is known to be dead (its listener refuses): do not wait for its session to end."""
        broker = self._writer.image.brokers.get(broker_id)
        if broker is not None and not broker.fenced:
            self._fence(broker_id)
            await self._writer.committed()

    async def controller_registration(
        self, ask: ControllerRegistrationRequest
    ) -> ControllerRegistrationResponse:
        await self._writer.decide(lambda image: registration.register_controller(ask))
        return ControllerRegistrationResponse()

    async def unregister_broker(
        self, ask: "unregister_broker.UnregisterBrokerRequest"
    ) -> "unregister_broker.UnregisterBrokerResponse":
        from ottla.wire.messages.unregister_broker import UnregisterBrokerResponse

        await self._writer.decide(
            lambda image: registration.unregister_broker(image, self.settings, ask.broker_id)
        )
        self._sessions.end(ask.broker_id)
        return UnregisterBrokerResponse()

    # Topics and partitions -----------------------------------------------------------------

    async def create_topics(
        self, ask: "create_topics.CreateTopicsRequest", charge: "Charge | None" = None
    ) -> "create_topics.CreateTopicsResponse":
        from ottla.controller.topics import create_topics

        return await self._writer.decide(
            lambda image: create_topics(
                image, self.settings, ask, self._chance, charge, self._policies
            )
        )

    async def create_partitions(
        self, ask: "create_partitions.CreatePartitionsRequest", charge: "Charge | None" = None
    ) -> "create_partitions.CreatePartitionsResponse":
        from ottla.controller.partitions import create_partitions

        return await self._writer.decide(
            lambda image: create_partitions(image, self.settings, ask, self._chance, charge)
        )

    async def delete_topics(
        self, ask: "delete_topics.DeleteTopicsRequest", charge: "Charge | None" = None
    ) -> "delete_topics.DeleteTopicsResponse":
        from ottla.controller.topics import delete_topics

        return await self._writer.decide(
            lambda image: delete_topics(image, self.settings, ask, charge)
        )

    async def elect_leaders(
        self, ask: "elect_leaders.ElectLeadersRequest"
    ) -> "elect_leaders.ElectLeadersResponse":
        from ottla.controller.elections import elect_leaders

        return await self._writer.decide(lambda image: elect_leaders(image, self.settings, ask))

    async def alter_partition(
        self, ask: "alter_partition.AlterPartitionRequest"
    ) -> "alter_partition.AlterPartitionResponse":
        from ottla.controller.in_sync import alter_partition

        return await self._writer.decide(lambda image: alter_partition(image, self.settings, ask))

    async def alter_partition_reassignments(
        self, ask: "alter_partition_reassignments.AlterPartitionReassignmentsRequest"
    ) -> "alter_partition_reassignments.AlterPartitionReassignmentsResponse":
        from ottla.controller.reassignment import alter_reassignments

        return await self._writer.decide(
            lambda image: alter_reassignments(image, self.settings, ask)
        )

    async def list_partition_reassignments(
        self, ask: "list_partition_reassignments.ListPartitionReassignmentsRequest"
    ) -> "list_partition_reassignments.ListPartitionReassignmentsResponse":
        from ottla.controller.reassignment import list_reassignments

        return await self._writer.decide(
            lambda image: ControllerResult([], list_reassignments(image, ask))
        )

    async def assign_replicas_to_dirs(
        self, ask: "assign_replicas_to_dirs.AssignReplicasToDirsRequest"
    ) -> "assign_replicas_to_dirs.AssignReplicasToDirsResponse":
        from ottla.controller.directories import assign_replicas

        return await self._writer.decide(lambda image: assign_replicas(image, self.settings, ask))

    # Settings, features, producer ids --------------------------------------------------------

    async def alter_configs(
        self, ask: "alter_configs.AlterConfigsRequest"
    ) -> "alter_configs.AlterConfigsResponse":
        from ottla.controller.settings import alter_configs

        return await self._writer.decide(
            lambda image: alter_configs(image, self.settings, ask, self._policies)
        )

    async def incremental_alter_configs(
        self, ask: "incremental_alter_configs.IncrementalAlterConfigsRequest"
    ) -> "incremental_alter_configs.IncrementalAlterConfigsResponse":
        from ottla.controller.settings import incremental_alter_configs

        return await self._writer.decide(
            lambda image: incremental_alter_configs(image, self.settings, ask, self._policies)
        )

    async def update_features(
        self, ask: "update_features.UpdateFeaturesRequest"
    ) -> "update_features.UpdateFeaturesResponse":
        from ottla.controller.features import update_features

        kraft = self._quorum.kraft_version
        return await self._writer.decide(
            lambda image: update_features(image, self.settings, kraft, ask)
        )

    async def allocate_producer_ids(
        self, ask: "allocate_producer_ids.AllocateProducerIdsRequest"
    ) -> "allocate_producer_ids.AllocateProducerIdsResponse":
        from ottla.controller.features import allocate_producer_ids

        return await self._writer.decide(lambda image: allocate_producer_ids(image, ask))

    # Access rules and users ------------------------------------------------------------------

    async def create_acls(
        self, ask: "create_acls.CreateAclsRequest"
    ) -> "create_acls.CreateAclsResponse":
        from ottla.controller.acls import create_acls

        return await self._writer.decide(lambda image: create_acls(image, ask, self._chance))

    async def delete_acls(
        self, ask: "delete_acls.DeleteAclsRequest"
    ) -> "delete_acls.DeleteAclsResponse":
        from ottla.controller.acls import delete_acls

        return await self._writer.decide(lambda image: delete_acls(image, ask))

    async def alter_user_scram_credentials(
        self, ask: "alter_user_scram_credentials.AlterUserScramCredentialsRequest"
    ) -> "alter_user_scram_credentials.AlterUserScramCredentialsResponse":
        from ottla.controller.users import alter_credentials

        return await self._writer.decide(lambda image: alter_credentials(image, ask))

    async def alter_client_quotas(
        self, ask: "alter_client_quotas.AlterClientQuotasRequest"
    ) -> "alter_client_quotas.AlterClientQuotasResponse":
        from ottla.controller.client_quotas import alter_client_quotas, named_hosts

        known = {host for host in named_hosts(ask) if await self._is_known_host(host)}
        return await self._writer.decide(lambda image: alter_client_quotas(image, ask, known))

    # Delegation tokens -----------------------------------------------------------------------

    @property
    def _token_policy(self) -> "TokenPolicy":
        if self._tokens is None:
            from ottla.controller.tokens import TokenPolicy

            self._tokens = TokenPolicy(self.settings)
        return self._tokens

    async def create_delegation_token(
        self, ask: "create_delegation_token.CreateDelegationTokenRequest", requester: str
    ) -> "create_delegation_token.CreateDelegationTokenResponse":
        policy = self._token_policy
        return await self._writer.decide(
            lambda image: policy.create(image, ask, requester, self._now_ms(), self._chance)
        )

    async def renew_delegation_token(
        self, ask: "renew_delegation_token.RenewDelegationTokenRequest", requester: str
    ) -> "renew_delegation_token.RenewDelegationTokenResponse":
        policy = self._token_policy
        return await self._writer.decide(
            lambda image: policy.renew(image, ask, requester, self._now_ms())
        )

    async def expire_delegation_token(
        self, ask: "expire_delegation_token.ExpireDelegationTokenRequest", requester: str
    ) -> "expire_delegation_token.ExpireDelegationTokenResponse":
        policy = self._token_policy
        return await self._writer.decide(
            lambda image: policy.expire(image, ask, requester, self._now_ms())
        )

    def _remove_ended_tokens(self) -> None:
        if self._writer.image.delegation_tokens:
            from ottla.controller.tokens import ended

            self._writer.append(ended(self._writer.image, self._now_ms()), atomic=False)

    # From time to time -----------------------------------------------------------------------

    async def run(self) -> None:
        """Keep time until cancelled; on a node that is not active there is nothing to do."""
        self._woken = self._now()
        await every(TICK_SECONDS, self._wake, "what the controller does from time to time")

    def _wake(self) -> None:
        overslept = self._now() - self._woken - TICK_SECONDS
        self._woken += TICK_SECONDS + overslept
        if overslept > STANDSTILL_SECONDS:
            self._sessions.forgive(overslept)
        if self._writer.active:
            self.tick(self._woken)

    def tick(self, now: float) -> None:
        for broker_id in self._sessions.stale(self._writer.image, now):
            self._fence(broker_id)
        if self._is_due("unclean", now, self.settings.int("unclean.leader.election.interval.ms")):
            self._elect_where_nobody_leads()
        interval_s = self.settings.int("leader.imbalance.check.interval.seconds")
        if self.settings.flag("auto.leader.rebalance.enable") and self._is_due(
            "preferred", now, interval_s * 1000
        ):
            self._return_to_preferred()
        interval_ms = self.settings.int("delegation.token.expiry.check.interval.ms")
        if self._is_due("tokens", now, interval_ms):
            self._remove_ended_tokens()
        self._write_noop(now)

    def _is_due(self, task: str, now: float, interval_ms: int) -> bool:
        due = self._due.setdefault(task, now + interval_ms / 1000)
        if now < due:
            return False
        self._due[task] = now + interval_ms / 1000
        return True

    def _elect_where_nobody_leads(self) -> None:
        from ottla.controller.elections import elect_where_nobody_leads

        records = elect_where_nobody_leads(self._writer.image, self.settings)
        self._writer.append(records, atomic=False)

    def _return_to_preferred(self) -> None:
        from ottla.controller.elections import return_to_preferred

        records = return_to_preferred(self._writer.image, self.settings)
        self._writer.append(records, atomic=False)

    def _write_noop(self, now: float) -> None:
        """Even an idle log moves on, so that everybody can see that it is alive."""
        interval_ms = self.settings.int("metadata.max.idle.interval.ms")
        if interval_ms == 0:
            return
        if self._writer.next_offset == self._idle_since:
            if self._is_due("idle", now, interval_ms):
                self._writer.append([NoOpRecord()])
        else:
            self._due["idle"] = now + interval_ms / 1000
        self._idle_since = self._writer.next_offset


def _leads(image: Image, broker_id: int) -> bool:
    return any(partition.leader == broker_id for _, _, partition in all_partitions(image))
