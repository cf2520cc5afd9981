"""The paper's tables, reproduced from one command each."""
