"""What the two worlds of SkillExecBench share. No environment itself."""
