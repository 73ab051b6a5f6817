"""The manifests of an autoscaler keep to the schemas of Kubernetes and KEDA."""

import re
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from logreplay.analysis.output.plan_page import manifests
from logreplay.analysis.planning.autoscaling import WINDOW_S, ScalingTarget

TARGET = ScalingTarget(
    rate=37.1294, concurrency=2.9, least=2, most=7, mean=3.2, rise=1.4, at=1_767_571_200, reaction=90
)
STRICT: dict[str, Any] = {"type": "object", "additionalProperties": False}
SECONDS = {"type": "integer", "minimum": 0}
SCALED_OBJECT = STRICT | {
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "kind": {"const": "ScaledObject"},
        "metadata": {"type": "object"},
        "spec": STRICT | {
            "required": ["scaleTargetRef", "triggers"],
            "properties": {
                "scaleTargetRef": STRICT | {"required": ["name"], "properties": {"name": {"type": "string"}}},
                "minReplicaCount": {"type": "integer"},
                "maxReplicaCount": {"type": "integer"},
                "advanced": STRICT | {"properties": {"horizontalPodAutoscalerConfig": STRICT | {"properties": {
                    "behavior": STRICT | {"properties": {"scaleDown": STRICT | {"properties": {
                        "stabilizationWindowSeconds": SECONDS}}}}}}}},
                "triggers": {"type": "array", "items": STRICT | {
                    "required": ["type", "metadata"],
                    "properties": {
                        "type": {"const": "prometheus"},
                        "metricType": {"enum": ["AverageValue", "Value", "Utilization"]},
                        "metadata": {"type": "object", "additionalProperties": {"type": "string"},
                                     "required": ["serverAddress", "query", "threshold"]},
                    },
                }},
            },
        },
    },
}  # fmt: skip
"""The fields of a ScaledObject that logreplay writes, by KEDA's definition of the resource."""


@pytest.fixture
def made() -> dict[str, Any]:
    return {name: yaml.safe_load(text) for name, text in manifests(TARGET).items()}


def test_the_autoscaler_of_kubernetes_keeps_to_its_schema(made: dict[str, Any]) -> None:
    kubernetes_validate.validate(made["hpa.yaml"], kubernetes_validate.latest_version(), strict=True)
    assert made["hpa.yaml"]["spec"]["metrics"][0]["pods"]["target"]["averageValue"] == "37129m"


def test_the_scaled_object_of_keda_keeps_to_its_schema(made: dict[str, Any]) -> None:
    jsonschema.validate(made["keda.yaml"], SCALED_OBJECT)
    spec = made["keda.yaml"]["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 7)
    assert spec["triggers"][0]["metadata"]["threshold"] == "37.129"


def test_each_manifest_names_the_window_of_its_metric() -> None:
    assert re.search(rf"^# .* over {WINDOW_S} s\.$", manifests(TARGET)["hpa.yaml"], re.M)
    assert f"[{WINDOW_S}s]" in manifests(TARGET)["keda.yaml"]


def test_a_manifest_ends_with_its_line(made: dict[str, Any]) -> None:
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in manifests(TARGET).values())
