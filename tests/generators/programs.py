"""The programs that use the generated clients: one for each document and language.

Each makes a call and prints a word of the answer. The environment has the stack's address and the credentials.
"""

from collections.abc import Mapping

_PYTHON_BANK = """
import os
from client.api.calls_to_the_service import check_consent_status
from client.client import AuthenticatedClient
from client.models import ConsentStatesAnswer, ConsentsStatus

at = AuthenticatedClient(os.environ["HUB"], token=os.environ["KEY"], prefix="", auth_header_name="X-Api-Key")
answer = check_consent_status.sync(
    client=at,
    body=ConsentsStatus(consent_ids=["unknown"]),
    x_request_id=os.environ["REQUEST_ID"],
    x_signature=os.environ["SIGNATURE"],
)
assert isinstance(answer, ConsentStatesAnswer), answer
print(answer.consents[0].status.value)
"""
_GO = """
package main

import (
	"context"
	"example/client"
	"fmt"
	"net/http"
	"os"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func withKey(ctx context.Context, request *http.Request) error {
	request.Header.Set("X-Api-Key", os.Getenv("KEY"))
	return nil
}

func main() {
	api := must(client.NewClientWithResponses(os.Getenv("HUB"), client.WithRequestEditorFn(withKey)))
	%s
}
"""
_GO_BANK = """ids := []string{"unknown"}
	signature := os.Getenv("SIGNATURE")
	answer := must(api.CheckConsentStatusWithResponse(context.Background(),
		&client.CheckConsentStatusParams{XRequestId: os.Getenv("REQUEST_ID"), XSignature: %ssignature},
		client.ConsentsStatus{ConsentIds: &ids}))
	fmt.Println(answer.JSON200.Consents[0].Status)"""
_TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { paths } from "./client.d.ts";

const { HUB, KEY, REQUEST_ID, SIGNATURE } = process.env;
const api = createClient<paths>({ baseUrl: HUB, headers: { "X-Api-Key": KEY } });
%s
"""
_TYPESCRIPT_BANK = """const { data, error } = await api.POST("%s/consents/status", {
  params: { header: { "X-Request-Id": REQUEST_ID, "X-Signature": SIGNATURE } },
  body: { %s: ["unknown"] },
});
if (error) throw new Error(JSON.stringify(error));
console.log(data.consents[0].status);"""
PROGRAMS: Mapping[str, Mapping[str, str]] = {
    "tpp": {
        "py": """
import os
from client.api.authorization import list_banks
from client.client import AuthenticatedClient
from client.models import BanksAnswer

at = AuthenticatedClient(os.environ["HUB"], token=os.environ["KEY"], prefix="", auth_header_name="X-Api-Key")
answer = list_banks.sync(client=at, limit=1)
assert isinstance(answer, BanksAnswer), answer
print(answer.banks[0].bic)
""",
        "go": _GO
        % """answer := must(api.ListBanksWithResponse(context.Background(), &client.ListBanksParams{}))
	fmt.Println(answer.JSON200.Banks[0].Bic)""",
        "ts": _TYPESCRIPT
        % """const { data, error } = await api.GET("/tpp/banks", { params: { query: { limit: 1 } } });
if (error) throw new Error(error.title);
console.log(data.banks[0].bic);""",
    },
    "bank-v1": {
        "py": _PYTHON_BANK,
        "go": _GO % (_GO_BANK % "&"),
        "ts": _TYPESCRIPT % (_TYPESCRIPT_BANK % ("/bank", "consent_ids")),
    },
    "bank-v2": {
        "py": _PYTHON_BANK,
        "go": _GO % (_GO_BANK % ""),
        "ts": _TYPESCRIPT % (_TYPESCRIPT_BANK % ("/bank/v2", "consentIds")),
    },
    "cards": {
        "py": """
import json, os
from client.api.actions import get_limits_groups
from client.client import Client
from client.models import GetLimitsGroupsAnswer, GetLimitsGroupsRequest

request = json.loads(os.environ["CREDENTIALS"])
request |= {"action": "getLimitsGroups", "api_version": "1.2", "limit_type": "1"}
answer = get_limits_groups.sync(client=Client(os.environ["HUB"]), body=GetLimitsGroupsRequest.from_dict(request))
assert isinstance(answer, GetLimitsGroupsAnswer), answer
print(answer.data[0].name)
""",
        "go": _GO.replace('import (\n\t"context"', 'import (\n\t"context"\n\t"encoding/json"')
        % """request := client.GetLimitsGroupsRequest{Action: "getLimitsGroups", ApiVersion: "1.2", LimitType: "1"}
	must(0, json.Unmarshal([]byte(os.Getenv("CREDENTIALS")), &request))
	answer := must(api.GetLimitsGroupsWithResponse(context.Background(), nil, request))
	switch found := must(answer.JSON200.ValueByDiscriminator()).(type) {
	case client.GetLimitsGroupsAnswer:
		fmt.Println(found.Data[0].Name)
	case client.ErrorAnswer:
		panic(found.Message)
	}""",
        "ts": _TYPESCRIPT
        % """const credentials = JSON.parse(process.env.CREDENTIALS);
const { data } = await api.POST("/api#getLimitsGroups", {
  body: { action: "getLimitsGroups", api_version: "1.2", limit_type: "1", ...credentials },
});
if (data!.status === "error") throw new Error(data!.message);
console.log(data!.data[0].name);""",
    },
}
"""Programs by document and by the ending of their files."""
