"""Truth after trouble: who still lives, what others left, and what is remembered of pods."""
