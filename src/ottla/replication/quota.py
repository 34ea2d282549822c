"""How many bytes a second may pass, measured over the last seconds. Pure: time is told.

As in Apache Kafka a quota holds nobody to a part of an answer: what is asked for while there is
room comes whole, and then nothing more until the rate of the whole window has fallen again.
"""

from collections import deque

UNLIMITED = 2**63 - 1


class _Sample:
    __slots__ = ("began", "size")

    def __init__(self, began: float) -> None:
        self.began = began
        self.size = 0


class ReplicationQuota:
    """Options `replication.quota.window.*`: so many samples of so many seconds are remembered."""

    __slots__ = ("_sample_s", "_samples", "_window_s", "bytes_per_s")

    def __init__(self, samples: int = 11, sample_s: float = 1.0) -> None:
        self.bytes_per_s = UNLIMITED
        self._sample_s = sample_s
        self._window_s = samples * sample_s
        self._samples: deque[_Sample] = deque()

    def spend(self, now: float, size: int) -> None:
        """So many bytes have passed, allowed or not."""
        samples = self._samples
        if not samples or now - samples[-1].began >= self._sample_s:
            self._forget(now)
            samples.append(_Sample(now))
        samples[-1].size += size

    def is_spent(self, now: float) -> bool:
        self._forget(now)
        samples = self._samples
        if not samples:
            return False
        seconds = max(now - samples[0].began, self._sample_s)
        return sum(sample.size for sample in samples) > self.bytes_per_s * seconds

    def _forget(self, now: float) -> None:
        samples = self._samples
        while samples and now - samples[0].began >= self._window_s:
            samples.popleft()
