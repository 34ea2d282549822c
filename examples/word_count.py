"""Word count: lines of text in, how often each word has come out.

ottla topic create lines
ottla run examples/word_count.py
echo "to be or not to be" | ottla produce lines
ottla table get word-count counts be
"""

import ottla
from ottla.pipelines import string

app = ottla.App("word-count")

(
    app.stream("lines", value=string())
    .explode("split(lower(value), '[^a-z]+')", "word")
    .filter("word <> ''")
    .group_by("word")
    .count()
    .named("counts")
)
