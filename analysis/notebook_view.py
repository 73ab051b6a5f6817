"""HTML that shows a result in a notebook."""

from collections.abc import Iterable
from html import escape

from logreplay.core.masking import safe_to_show


def html(sentence: str, findings: Iterable[str], picture: bytes = b"") -> str:
    """A sentence, the findings below it, in which values of strangers may be, and a picture (PNG) if there is one."""
    from base64 import b64encode

    parts = [f"<p><b>{_clean(sentence)}</b></p>"]
    if items := "".join(f"<li>{_clean(text)}</li>" for text in findings):
        parts.append(f"<ul>{items}</ul>")
    if picture:
        encoded = b64encode(picture).decode()
        parts.append(f'<img style="max-width: 100%" alt="{_clean(sentence)}" src="data:image/png;base64,{encoded}">')
    return "\n".join(parts)


def _clean(text: str) -> str:
    return escape(safe_to_show(text))
