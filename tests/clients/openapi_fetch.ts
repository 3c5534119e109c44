// A client of openapi-fetch, with the types of openapi-typescript.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi-fetch";

type Product = components["schemas"]["Product"];
type BulkError = components["schemas"]["BulkError"];

async function main(baseUrl: string, token: string, tenant: string) {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

  const created = await client.POST("/products", {
    body: { name: "Plan", externalId: "fetch-1", mrr: 100, custom: { tier: 1 } },
  });
  assert(created.data, JSON.stringify(created.error));
  const product: Product = created.data;
  const id: string = product._id;
  const createdAt: string = product.createdAt;
  assert.deepEqual([product.name, product.arr, product.custom], ["Plan", 1200, { tier: 1 }]);
  assert(id.length === 24 && createdAt.endsWith("Z"));

  const listed = await client.GET("/products", {
    params: { query: { externalId: "fetch-1", select: "name" } },
  });
  assert.deepEqual(listed.data, [{ _id: id, name: "Plan" }]);

  const upserted = await client.PUT("/products", {
    body: [{ externalId: "fetch-1", mrr: 120 }, { externalId: "fetch-2", name: "Other" }, { mrr: 1 }],
  });
  assert(upserted.data, JSON.stringify(upserted.error));
  const errors: BulkError[] = upserted.data.createdErrors;
  assert.deepEqual([upserted.data.created, upserted.data.modified], [1, [id]]);
  assert.deepEqual(errors.map((error) => [error.index, error.code, error.field]), [[2, "required", "name"]]);

  // @ts-expect-error: a product needs a name.
  const refused = await client.POST("/products", { body: { mrr: 1 } });
  const problems: components["schemas"]["ProblemItem"][] = refused.error?.errors ?? [];
  assert.deepEqual([refused.error?.code, problems[0]?.pointer], ["required", "/name"]);

  const tracked = await client.POST("/analytics/{tenant}", {
    params: { path: { tenant } },
    body: { externalId: "ada", companyExternalId: "demo", action: "Used openapi-fetch" },
    parseAs: "text",
  });
  assert.equal(tracked.data, "OK");
  const activities = await client.GET("/activities", { params: { query: { action: "Used openapi-fetch" } } });
  assert.equal(activities.data?.[0]?.externalId, "ada");
}

const [baseUrl = "", token = "", tenant = ""] = process.argv.slice(2);
void main(baseUrl, token, tenant);
