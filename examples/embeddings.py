"""Find the sentence that is closest in meaning, with the published all-MiniLM-L6-v2 weights.

Needs two packages; without them the error is the line that installs them.
"""

from tg_core.cli.demo.embed_model import SentenceEncoder

SENTENCES = [
    "How do I install the driver on Linux?",
    "The stock market fell sharply on Monday.",
    "A man is eating food.",
    "La vie est belle.",
]
QUESTION = "Somebody is having a meal."


def main() -> str:
    encoder = SentenceEncoder()
    vectors = encoder.encode([QUESTION, *SENTENCES])
    similarities = vectors[1:] @ vectors[0]
    for sentence, similarity in zip(SENTENCES, similarities):
        print(f"{similarity:6.3f}  {sentence}")
    return SENTENCES[similarities.argmax()]


if __name__ == "__main__":
    print(f"closest to {QUESTION!r}: {main()!r}")
