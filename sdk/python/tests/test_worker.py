"""The end of a worker: python -m unittest discover -s tests."""

import asyncio
import unittest
from unittest import mock

from parley_worker import _worker


async def deaf():
    """Loses its first cancellation, like a task in asyncio.wait_for of Python 3.11."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.Event().wait()


async def failing():
    raise RuntimeError("an error that is not of interest at the end")


class End(unittest.IsolatedAsyncioTestCase):
    async def test_lost_cancellation(self):
        wait = asyncio.wait
        tasks = [asyncio.create_task(work) for work in (deaf(), failing(), asyncio.sleep(60))]
        await asyncio.sleep(0)
        with mock.patch("asyncio.wait", lambda tasks, timeout: wait(tasks, timeout=timeout / 1000)):
            await asyncio.wait_for(_worker.end(*tasks), timeout=30)
        self.assertEqual([task.cancelled() for task in tasks], [True, False, True])

    async def test_no_tasks(self):
        await _worker.end()
