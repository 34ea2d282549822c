"""How fast something happens, measured as Apache Kafka measures it. Pure: time is told, in whole
milliseconds of any clock that only goes forward.

Kafka's throttle times follow from its windows to the millisecond, so they are kept: a rate is what
was counted in the last samples, over the time since the oldest of them began, and never over less
than all samples but one. A bucket holds what may be done at once, and fills with time.
"""

from collections import deque


class SampleWindow:
    """So many samples of so many seconds (`quota.window.num`, `quota.window.size.seconds`)."""

    __slots__ = ("sample_ms", "samples")

    def __init__(self, samples: int, sample_s: int) -> None:
        self.samples = samples
        self.sample_ms = sample_s * 1000

    @property
    def least_s(self) -> float:
        """A rate is never taken over less than that."""
        return (self.samples - 1) * self.sample_ms / 1000

    @property
    def whole_s(self) -> float:
        return self.samples * self.sample_ms / 1000


class _Sample:
    __slots__ = ("began_ms", "counted", "last_ms")

    def __init__(self, now_ms: int) -> None:
        self.began_ms = now_ms
        self.last_ms = now_ms
        self.counted = 0.0


class Rate:
    """Of what is counted, in a second."""

    __slots__ = ("_samples", "_window")

    def __init__(self, window: SampleWindow) -> None:
        self._window = window
        self._samples: deque[_Sample] = deque(maxlen=window.samples + 1)

    def count(self, now_ms: int, value: float) -> None:
        """A negative value takes back what was counted."""
        samples = self._samples
        if not samples or now_ms - samples[-1].began_ms >= self._window.sample_ms:
            samples.append(_Sample(now_ms))
        samples[-1].counted += value
        samples[-1].last_ms = now_ms

    def throttle_ms(self, now_ms: int, limit: float) -> int:
        """How long it takes, without anything more, until the rate is down to the limit."""
        self._forget(now_ms)
        window_ms = self._window_ms(now_ms)
        rate = sum(sample.counted for sample in self._samples) * 1000 / window_ms
        return rounded((rate - limit) / limit * window_ms) if rate > limit else 0

    def idle_ms(self, now_ms: int) -> int:
        return now_ms - self._samples[-1].last_ms if self._samples else 0

    def _window_ms(self, now_ms: int) -> int:
        """Since the oldest sample began; what is missing to a full window counts as empty."""
        if not self._samples:
            return max((self._window.samples - 1) * self._window.sample_ms, 1)
        passed_ms = now_ms - self._samples[0].began_ms
        missing = self._window.samples - 1 - passed_ms // self._window.sample_ms
        return max(passed_ms + max(missing, 0) * self._window.sample_ms, 1)

    def _forget(self, now_ms: int) -> None:
        """A sample counts as long as its last event lies in the window."""
        age_ms = self._window.samples * self._window.sample_ms
        while self._samples and now_ms - self._samples[0].last_ms >= age_ms:
            self._samples.popleft()


class TokenBucket:
    """Full at first. It may be overdrawn, and then nothing is to be had until it is made up for."""

    __slots__ = ("_filled_ms", "_tokens", "_window")

    def __init__(self, window: SampleWindow) -> None:
        self._window = window
        self._tokens: float | None = None
        self._filled_ms = 0

    def tokens(self, now_ms: int, limit: float) -> float:
        most = self._window.whole_s * limit
        if self._tokens is None:
            self._tokens = most
        gained = limit * (now_ms - self._filled_ms) / 1000
        self._tokens = min(most, self._tokens + gained)
        self._filled_ms = now_ms
        return self._tokens

    def take(self, now_ms: int, limit: float, tokens: float) -> None:
        self._tokens = self.tokens(now_ms, limit) - tokens

    def throttle_ms(self, now_ms: int, limit: float) -> int:
        """Until it is not overdrawn any more."""
        tokens = self.tokens(now_ms, limit)
        return rounded(-tokens / limit * 1000) if tokens < 0 else 0

    def idle_ms(self, now_ms: int) -> int:
        return now_ms - self._filled_ms


def rounded(value: float) -> int:
    """As Java does: a half goes up."""
    return int(value + 0.5)
