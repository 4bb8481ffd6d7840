"""The template that Chalice writes: for a made-up application, and for this one."""

from __future__ import annotations

import json
from typing import Any

from infra.deploy import template

CONFIG = json.loads((template.PATH.parents[1] / ".chalice" / "config.json").read_text(encoding="utf-8"))

APPLICATION: dict[str, Any] = {
    "Transform": "AWS::Serverless-2016-10-31",
    "Resources": {
        "APIHandler": {"Type": "AWS::Serverless::Function", "Properties": {"Handler": "app.app"}},
        "ApiHandlerLogGroup": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": {"Fn::Sub": "/aws/lambda/${ApiHandler}"}, "RetentionInDays": 30},
        },
        "Deliver": {
            "Type": "AWS::Serverless::Function",
            "Properties": {
                "Handler": "chalicelib.delivery.jobs.deliver",
                "Events": {
                    "Source": {
                        "Type": "SQS",
                        "Properties": {
                            "Queue": {"Fn::Sub": "…:causeway-dev-deliveries"},
                            "BatchSize": 1,
                            "ScalingConfig": {"MaximumConcurrency": 100},
                        },
                    }
                },
            },
        },
        "DeliverLogGroup": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": {"Fn::Sub": "/aws/lambda/${Deliver}"}, "RetentionInDays": 30},
        },
        "RestAPI": {"Type": "AWS::Serverless::Api", "Properties": {"DefinitionBody": {"paths": {}}}},
        "ManagedLayer": {"Type": "AWS::Serverless::LayerVersion", "Properties": {}},
    },
    "Outputs": {"EndpointURL": {"Value": "https://…"}},
}


def packaged_stage(stage: str) -> dict[str, Any]:
    """What ``chalice package`` makes of a stage, but for the code itself."""
    from chalice.config import Config
    from chalice.deploy.appgraph import ApplicationGraphBuilder, DependencyBuilder
    from chalice.deploy.deployer import BuildStage, SwaggerBuilder
    from chalice.deploy.swagger import CFNSwaggerGenerator
    from chalice.package import PackageOptions, SAMTemplateGenerator

    import app

    class Options(PackageOptions):
        def __init__(self) -> None:
            """Do without a session of boto3's."""

        def service_principal(self, service: str) -> str:
            return f"{service}.amazonaws.com"

    given = {"chalice_app": app.app, "project_dir": str(template.PATH.parents[1]), "automatic_layer": False}
    config = Config(chalice_stage=stage, user_provided_params=given, config_from_disk=CONFIG)
    graph = ApplicationGraphBuilder().build(config, stage)
    BuildStage(steps=[SwaggerBuilder(CFNSwaggerGenerator())]).execute(
        config, DependencyBuilder().build_dependencies(graph)
    )
    made: dict[str, Any] = SAMTemplateGenerator(config, Options()).generate(
        DependencyBuilder().build_dependencies(graph)
    )
    return made
