from __future__ import annotations

from hypothesis import HealthCheck, settings

# Examples are judged by what they do, not by how long a busy machine takes for them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
