"""A client of openapi-python-client."""

import sys
from uuid import UUID

from svctrack_client import AuthenticatedClient
from svctrack_client.api.activities import get_activities
from svctrack_client.api.products import get_products, post_products, put_products
from svctrack_client.api.tracking import post_analytics_tenant
from svctrack_client.models import (
    BulkAnswer,
    Problem,
    Product,
    ProductBulkItem,
    ProductCreate,
    RealtimeEvent,
)


def main(base_url: str, token: str, tenant: UUID) -> None:
    client = AuthenticatedClient(base_url, token, raise_on_unexpected_status=True)

    body = ProductCreate(name="Plan", external_id="python-1", mrr=100)
    product = post_products.sync(client=client, body=body)
    assert isinstance(product, Product), product
    created_year: int = product.created_at.year
    assert (product.name, product.arr, created_year > 2000) == ("Plan", 1200, True), product

    listed = get_products.sync(client=client, external_id="python-1", select="name")
    assert isinstance(listed, list), listed
    assert [(item.field_id, item.name) for item in listed] == [(product.field_id, "Plan")], listed

    items = [
        ProductBulkItem(external_id="python-1", mrr=120),
        ProductBulkItem(external_id="python-2", name="Other"),
        ProductBulkItem(mrr=1),
    ]
    upserted = put_products.sync(client=client, body=items)
    assert isinstance(upserted, BulkAnswer), upserted
    assert (upserted.created, upserted.modified) == (1, [product.field_id]), upserted
    errors = [(error.index, error.code, error.field) for error in upserted.created_errors]
    assert errors == [(2, "required", "name")], upserted

    taken = post_products.sync(client=client, body=body)
    assert isinstance(taken, Problem) and taken.status == 409, taken

    event = RealtimeEvent(external_id="ada", company_external_id="demo", action="Used Python")
    assert post_analytics_tenant.sync(tenant, client=client, body=event) == "OK"
    activities = get_activities.sync(client=client, action="Used Python")
    assert isinstance(activities, list) and activities[0].external_id == "ada", activities


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], UUID(sys.argv[3]))
