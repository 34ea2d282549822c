"""Which replicas the options name, from the first image on and whenever they change."""

from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.metadata.image import ConfigResourceType, Delta, Image
from ottla.replication.throttles import Throttles

LEADERS, FOLLOWERS = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
ORDERS = ConfigResourceType.TOPIC, "orders"


def changed(throttles: Throttles, options: dict[str, str]) -> None:
    image, delta = Image(), Delta()
    if options:
        image.configs[ORDERS] = options
    delta.configs.add(ORDERS)
    throttles.apply(image, delta)


def covered(throttles: Throttles) -> tuple[list[int], list[int]]:
    """Partitions under the leader's quota, and under the follower's."""
    leader, follower = (
        [n for n in range(4) if throttle.covers(TopicPartition("orders", n))]
        for throttle in (throttles.leader, throttles.follower)
    )
    return leader, follower


def test_only_the_pairs_of_this_broker_count() -> None:
    throttles = Throttles(2, Settings({}))
    changed(throttles, {LEADERS: "0:1, 1:2,2:2", FOLLOWERS: "3:2,0:22"})
    assert covered(throttles) == ([1, 2], [3])
    assert not throttles.leader.covers(TopicPartition("payments", 1))


def test_a_star_names_them_all() -> None:
    throttles = Throttles(2, Settings({}))
    changed(throttles, {FOLLOWERS: "*"})
    assert covered(throttles) == ([], [0, 1, 2, 3])


def test_what_is_taken_back_leaves_nothing_to_look_at() -> None:
    throttles = Throttles(2, Settings({}))
    changed(throttles, {LEADERS: "*", FOLLOWERS: "0:2"})
    changed(throttles, {LEADERS: "", FOLLOWERS: "0:1"})
    assert not throttles.leader.partitions
    assert not throttles.follower.partitions
    changed(throttles, {LEADERS: "*"})
    changed(throttles, {})
    assert not throttles.leader.partitions


def test_the_first_image_is_read_whole() -> None:
    image = Image()
    image.configs[ORDERS] = {LEADERS: "1:2"}
    image.configs[ConfigResourceType.BROKER, "2"] = {"leader.replication.throttled.rate": "7"}
    throttles = Throttles(2, Settings({}))
    throttles.load(image)
    assert covered(throttles) == ([1], [])


def test_rates_are_those_of_the_settings() -> None:
    throttles = Throttles(2, Settings({}))
    broker = {
        "leader.replication.throttled.rate": "7",
        "follower.replication.throttled.rate": "8",
    }
    throttles.read_rates(Settings({}).with_dynamic({}, broker))
    assert (throttles.leader.quota.bytes_per_s, throttles.follower.quota.bytes_per_s) == (7, 8)
