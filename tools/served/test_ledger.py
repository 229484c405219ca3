"""The ledger must find each kind of loss. In `tools`: `python3 -m unittest served.test_ledger`"""

import unittest

from served.ledger import SECTOR, Ledger

PAGE = 8 * SECTOR


class Losses(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger(4, PAGE)

    def write(self, is_answered: bool = True, is_forced: bool = False) -> bytes:
        request = self.ledger.sends(0, 8, True)
        if is_answered:
            self.ledger.was_answered(request, is_forced)
        return self.ledger.data(request, 0, 8)

    def found(self, data: bytes) -> list:
        return self.ledger.after_failure(0, data)

    def test_an_answered_write_may_be_lost(self):
        self.write()
        self.assertEqual(self.found(bytes(PAGE)), [])

    def test_a_forced_write_may_not_be_lost(self):
        self.write(is_forced=True)
        self.assertIn("is wrong", self.found(bytes(PAGE))[0])

    def test_a_flush_covers_what_was_answered_before_it_was_sent(self):
        self.write()
        self.ledger.was_flushed(self.ledger.now())
        self.assertIn("is wrong", self.found(bytes(PAGE))[0])

    def test_a_flush_does_not_cover_what_was_answered_after_it_was_sent(self):
        sent = self.ledger.now()
        self.write()
        self.ledger.was_flushed(sent)
        self.assertEqual(self.found(bytes(PAGE)), [])

    def test_nothing_older_than_the_durable_version_may_appear(self):
        old = self.write(is_forced=True)
        self.write(is_forced=True)
        self.assertIn("is wrong", self.found(old)[0])

    def test_writes_that_overlap_in_time_have_no_order(self):
        one, other = self.ledger.sends(0, 8, True), self.ledger.sends(0, 8, True)
        self.ledger.was_answered(one, False)
        self.ledger.was_answered(other, True)
        self.assertEqual(self.found(self.ledger.data(one, 0, 8)), [])

    def test_versions_mix_only_while_one_is_in_flight(self):
        old, new = self.write(is_forced=True), self.write(is_answered=False)
        mixed = old[:SECTOR] + new[SECTOR:]
        self.assertEqual(self.found(mixed), [])
        self.assertEqual(self.ledger.mixed, 1)

    def test_versions_that_were_answered_do_not_mix(self):
        old, new = self.write(is_forced=True), self.write()
        self.assertIn("mixes versions", self.found(old[:SECTOR] + new[SECTOR:])[0])

    def test_versions_mix_under_a_sector_log_until_they_are_flushed(self):
        self.ledger = Ledger(4, PAGE, keeps_pages_whole=False)
        old, new = self.write(is_forced=True), self.write()
        self.assertEqual(self.found(old[:SECTOR] + new[SECTOR:]), [])
        old, new = self.write(), self.write(is_forced=True)
        self.assertIn("is wrong", self.found(old[:SECTOR] + new[SECTOR:])[0])

    def test_a_sector_is_not_made_of_two(self):
        old, new = self.write(is_forced=True), self.write(is_answered=False)
        self.assertIn("garbage", self.found(old[:100] + new[100:])[0])

    def test_data_of_another_page_are_foreign(self):
        data = self.write(is_forced=True)
        self.assertIn("data of sector 0", self.ledger.after_failure(1, data)[0])

    def test_a_trim_that_was_flushed_stays_a_trim(self):
        old = self.write(is_forced=True)
        self.ledger.was_answered(self.ledger.sends(0, 8, False), True)
        self.assertIn("is wrong", self.found(old)[0])

    def test_a_read_may_return_what_became_old_while_it_was_in_flight(self):
        old = self.write(is_forced=True)
        sent = self.ledger.sends_read()
        for _ in range(40):
            self.write(is_forced=True)
        self.assertIsNone(self.ledger.differs(0, old, self.ledger.readable(0, sent)))
        sent = self.ledger.sends_read()
        self.assertIn("is wrong", self.ledger.differs(0, old, self.ledger.readable(0, sent)))

    def test_versions_that_cannot_return_are_forgotten(self):
        for _ in range(100):
            self.write(is_forced=True)
        self.assertLess(len(self.ledger.pages[0]), 15)

    def test_what_was_found_once_is_what_stays(self):
        new = self.write()
        self.assertEqual(self.found(bytes(PAGE)), [])
        self.assertIn("is wrong", self.found(new)[0])


if __name__ == "__main__":
    unittest.main()
