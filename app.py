"""The Chalice entry point: registers what the rooms offer, and does nothing else."""

from chalicelib.application import Application
from chalicelib.bootstrap import hub
from chalicelib.delivery.jobs import job_routes
from chalicelib.openbanking.bank_api import bank_routes
from chalicelib.openbanking.oauth_api import oauth_routes
from chalicelib.openbanking.tpp_api import tpp_routes
from chalicelib.website.routes import website_routes

app = Application(app_name="causeway", configure_logs=False)

for blueprint in (tpp_routes, oauth_routes, bank_routes, website_routes, job_routes):
    app.register_blueprint(blueprint)

if hub().settings.has_demo_banks:
    from chalicelib.demo_bank.routes import bank_routes as demo_bank_routes

    app.register_blueprint(demo_bank_routes)
