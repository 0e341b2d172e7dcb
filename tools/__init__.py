"""What runs while the book is written, built, published and measured; never when it is read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
