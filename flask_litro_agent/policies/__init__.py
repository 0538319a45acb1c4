"""Policies: who may call which tool."""
