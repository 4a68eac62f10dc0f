"""When the calls of an open loop are due: a rate over time, and how calls are spread by it."""
