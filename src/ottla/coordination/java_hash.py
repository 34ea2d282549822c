"""Java's hash of a text, which decides where Kafka keeps things and in which order. Pure."""


def java_hash_code(text: str) -> int:
    """Java's String.hashCode as an unsigned number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8) + units[position + 1]) & 0xFFFFFFFF
    return value


def java_hash(text: str) -> int:
    """The absolute value of Java's String.hashCode, by which Kafka picks a partition."""
    value = java_hash_code(text)
    if value == 0x80000000:  # has no positive counterpart in 32 bits; Kafka takes 0 for it
        return 0
    return value if value < 0x80000000 else 0x100000000 - value
