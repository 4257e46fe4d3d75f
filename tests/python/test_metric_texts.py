"""Text metrics of strings, of lists of words, and of token numbers.  Prints TAP."""

from __future__ import annotations

import unittest

import tap

from calibrax_c import metrics


class Texts(unittest.TestCase):
    def test_strings_are_split_at_white_space(self):
        self.assertEqual(float(metrics.rouge_l("a b c", "a\tc\n")), 0.8)
        self.assertEqual(float(metrics.rouge_n("a\u2003b\u00a0c\u3000", "a b d", n=2)), 0.5)
        self.assertEqual(float(metrics.distinct_n("to be or not to be")), 4 / 6)
        self.assertEqual(float(metrics.distinct_n("  ")), 0)

    def test_all_forms_give_one_number(self):
        numbers = float(metrics.bleu([0, 1, 2, 3, 0, 4], [[0, 1, 5, 3, 0, 4, -1], [0, 1, 2, 3, 5, 0, 4]], max_n=3))
        candidate, references = "the cat sat on the mat", ["the cat is on the mat", "the cat sat on is the mat"]
        self.assertEqual(float(metrics.bleu(candidate, references, max_n=3)), numbers)
        self.assertEqual(float(metrics.bleu(candidate.split(), [r.split() for r in references], max_n=3)), numbers)
        self.assertEqual(float(metrics.bleu(candidate, references, max_n=3, tokenizer=str.split)), numbers)
        self.assertTrue(0.7 < numbers < 1)

    def test_a_tokenizer_sees_strings_alone(self):
        self.assertEqual(float(metrics.distinct_n("Hello", tokenizer=list)), 0.8)
        self.assertEqual(float(metrics.distinct_n(["He", "llo"], tokenizer=list)), 1)

    def test_refusals(self):
        for sentence, call in (
            ("bleu: 'references' must be texts as the other operands are", lambda: metrics.bleu("a", [[1, 2]])),
            ("rouge_l: 'candidate' must be texts as the other operands are", lambda: metrics.rouge_l(5, "a")),
            ("must be a string without NUL", lambda: metrics.rouge_l("a\0b", "a")),
            ("must be a string without NUL", lambda: metrics.rouge_l("a", "a", tokenizer=lambda s: [1])),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                call()


if __name__ == "__main__":
    tap.main()
