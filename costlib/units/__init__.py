"""What a count is: numbers, ops and ledgers, precisions, devices, messages."""
