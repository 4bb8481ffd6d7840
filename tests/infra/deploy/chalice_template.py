"""The template that Chalice writes for an application."""

from __future__ import annotations

from typing import Any

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
