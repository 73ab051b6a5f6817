"""Writes the manifests of an autoscaler: for Kubernetes (HorizontalPodAutoscaler) and for KEDA (ScaledObject).

Sources: Kubernetes API reference, ``autoscaling/v2``; KEDA, ``keda.sh/v1alpha1``, trigger ``prometheus``.
"""

from logreplay.analysis.output.template import rendered
from logreplay.analysis.planning.autoscaling import STABILIZATION_S, WINDOW_S, ScalingTarget


def manifests(target: ScalingTarget) -> dict[str, str]:
    """The manifests by name of file; NAME stands for the deployment, and the metric is requests/s per pod."""
    values = {"target": target, "milli": max(round(target.rate * 1000), 1), "stabilization": STABILIZATION_S}
    return {name: rendered(f"{name}.j2", {}, **values, window=WINDOW_S) + "\n" for name in ("hpa.yaml", "keda.yaml")}
