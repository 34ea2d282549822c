"""Sessions of clicks: what a user did between two pauses of half an hour.

    ottla topic create clicks
    ottla run examples/sessions.py
    ottla consume sessions

A session is written when it has ended: when clicks of anybody have come whose time is half an
hour (and the grace) past its last one.
"""

import ottla
from ottla.pipelines import json, session

app = ottla.App("click-sessions")

clicks = app.stream("clicks", value=json("user STRING NOT NULL, page STRING"))

(
    clicks.group_by("user")
    .windowed(session("30 minutes", grace="1 minute"))
    .agg(clicks="count(*)", pages="collect_set(page)")
    .to("sessions")
)
