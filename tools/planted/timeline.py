"""Timelines of a drive."""

PACKAGES = ["ftlab-sim --test timeline"]

TIMELINE = "crates/sim/src/run/timeline"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("timeline-slot-twice", "timeline: a place in the queue is given to two requests", f"{TIMELINE}/slots.rs",
     "        self.free.push(Reverse(slot));\n",
     "        self.free.extend([Reverse(slot), Reverse(slot)]);\n"),
    ("timeline-arrow-without-request", "timeline: an arrow comes before its request", f"{TIMELINE}/arrows.rs",
     "None => self.waiting_for_request.entry(id).or_default().push(operation),",
     "None => self.pass(operation, out),"),
    ("timeline-first-part-missing", "timeline: the first part of a suspended command is missing", f"{TIMELINE}/tracker.rs",
     "                out.push(Record::Die { work, is_resumed });\n",
     "                if is_resumed || !work.is_suspended {\n                    out.push(Record::Die { work, is_resumed });\n                }\n"),
    ("timeline-retired-early", "timeline, slowest: the time before a slow request is forgotten", f"{TIMELINE}/slowest_requests.rs",
     "        let horizon_ns = oldest_ns.saturating_sub(AROUND_NS);\n",
     "        let horizon_ns = oldest_ns;\n"),
    ("timeline-fastest-kept", "timeline, slowest: a slower request does not displace the fastest one that is kept", f"{TIMELINE}/slowest_requests.rs",
     "        if is_full {\n            self.slowest.pop_first();\n        }\n",
     "        if is_full {\n            self.slowest.pop_last();\n        }\n"),
    ("timeline-displaced-kept", "timeline, slowest: what only the window of a displaced request covers is not dropped", f"{TIMELINE}/slowest_requests.rs",
     "        kept.retain(|record| covers(windows, record));\n",
     "        let _ = windows;\n"),
]
