"""Bytes as people read them."""


def show_bytes(count: int) -> str:
    """Four digits at most, in powers of 1024."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        amount /= 1024
        if amount < 1000 or unit == "TiB":
            break
    return f"{amount:.1f} {unit}" if amount < 100 else f"{amount:.0f} {unit}"
