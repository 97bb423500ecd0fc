"""Workers of agents behind a Parley hub, on NATS or RabbitMQ: see Worker."""

from ._brokers import BusRefused
from ._events import Content, Event, Failed, Part, Refused, artifact, completed, message, status, working
from ._worker import Job, Question, Unanswered, Worker

__all__ = [
    "BusRefused", "Content", "Event", "Failed", "Job", "Part", "Question", "Refused", "Unanswered", "Worker",
    "artifact", "completed", "message", "status", "working",
]  # fmt: skip
__version__ = "0.1.0"
