#!/usr/bin/env bash
# Starts LocalStack on 127.0.0.1:4566 from its Python package: no account, no container. `make localstack` calls it.
#
# It takes Python 3.13, a JDK of 17 or later, and Maven; all that it makes is in .local/localstack. LocalStack's installer
# would fetch DynamoDB Local and Java by itself, from servers of its own: both are laid where it looks for them first.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=$(infra/find_python.sh 3.13 "LocalStack's pinned packages fit no other version")
for program in java javac jar mvn; do
    command -v "$program" >/dev/null || { echo "causeway: LocalStack needs $program, and there is none." >&2; exit 1; }
done

place=$PWD/.local/localstack
requirements=infra/local/localstack/requirements.txt
if ! cmp --silent "$requirements" "$place/requirements.txt"; then
    echo "Installing LocalStack into .local/localstack: about a minute, this once"
    "$python" -m venv --clear "$place/venv"
    "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    cp "$requirements" "$place/requirements.txt"
fi

libraries=$(.venv/bin/python -c 'from infra.local.dynamodb_local import fetch_engine; print(fetch_engine())')
lib=$place/root/var/lib/localstack/lib
engine=$lib/dynamodb-local/2
rm -rf "$lib"
mkdir -p "$engine" "$lib/java"
java_home=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.home = //p')
ln -s "$java_home" "$lib/java/21"
ln -s "$libraries" "$engine/DynamoDBLocal_lib"
cd "$engine"
{
    echo "Main-Class: software.amazon.dynamodb.services.local.main.ServerRunner"
    echo "Class-Path: ."
    printf '  %s\n' DynamoDBLocal_lib/*.jar
} >manifest
jar --create --file DynamoDBLocal.jar --manifest manifest
# LocalStack starts the engine with an agent of its own, which lifts a limit that nothing here reaches. This one does nothing.
echo 'public class Agent { public static void premain(String arguments) {} }' >Agent.java
javac Agent.java
echo "Premain-Class: Agent" >manifest
jar --create --file ddb-local-loader-0.1.jar --manifest manifest Agent.class

# LocalStack would listen at every address of this machine, whatever GATEWAY_LISTEN says: its server's default is changed.
main='
from runpy import run_module
from twisted.internet.endpoints import TCP4ServerEndpoint
TCP4ServerEndpoint.__init__.__defaults__ = (50, "127.0.0.1")
run_module("localstack.runtime.main", run_name="__main__")
'
# OVERRIDE_IN_DOCKER: host mode, on a machine that is a container itself, too. DNS_ADDRESS: no name server of its own.
exec env --ignore-environment "PATH=$PATH" "HOME=$place" "FILESYSTEM_ROOT=$place/root" OVERRIDE_IN_DOCKER=0 DNS_ADDRESS=0 \
    GATEWAY_LISTEN=127.0.0.1:4566 DYNAMODB_IN_MEMORY=1 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 \
    "$place/venv/bin/python" -c "$main"
