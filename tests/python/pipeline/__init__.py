"""spdl.pipeline, against the engine."""
