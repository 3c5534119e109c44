// A client of @hey-api/openapi-ts.

import assert from "node:assert/strict";
import { getActivities, getProducts, postAnalyticsTenant, postDockPipeline, postProducts, putProducts } from "./hey-api";
import type { BulkError, PipelineBody, Product } from "./hey-api";
import { client } from "./hey-api/client.gen";

async function main(baseUrl: string, token: string, tenant: string) {
  client.setConfig({ baseUrl, auth: (scheme) => (scheme.scheme === "basic" ? `${tenant}:` : token) });

  const created = await postProducts({
    body: { name: "Plan", externalId: "hey-1", mrr: 100, custom: { tier: 1 } },
  });
  assert(created.data, JSON.stringify(created.error));
  const product: Product = created.data;
  const id: string = product._id;
  const createdAt: string = product.createdAt;
  assert.deepEqual([product.name, product.arr, product.custom], ["Plan", 1200, { tier: 1 }]);
  assert(id.length === 24 && createdAt.endsWith("Z"));

  const listed = await getProducts({ query: { externalId: "hey-1", select: "name" } });
  assert.deepEqual(listed.data, [{ _id: id, name: "Plan" }]);

  const upserted = await putProducts({
    body: [{ externalId: "hey-1", mrr: 120 }, { externalId: "hey-2", name: "Other" }, { mrr: 1 }],
  });
  assert(upserted.data, JSON.stringify(upserted.error));
  const errors: BulkError[] = upserted.data.createdErrors;
  assert.deepEqual([upserted.data.created, upserted.data.modified], [1, [id]]);
  assert.deepEqual(errors.map((error) => [error.index, error.code, error.field]), [[2, "required", "name"]]);

  // @ts-expect-error: a product needs a name.
  const refused = await postProducts({ body: { mrr: 1 } });
  assert.deepEqual([refused.error?.code, refused.error?.errors?.[0]?.pointer], ["required", "/name"]);

  const tracked = await postAnalyticsTenant({
    path: { tenant },
    body: { externalId: "ada", companyExternalId: "demo", action: "Used hey-api" },
  });
  assert.equal(tracked.data, "OK");
  const call: PipelineBody = {
    type: "track", userId: "ada", event: "Came by pipeline", traits: { companyId: "demo" },
  };
  const piped = await postDockPipeline({ path: { pipeline: "segment" }, body: call });
  assert.equal(piped.data, "OK");
  const activities = await getActivities({ query: { endUserId: "extid-ada", action: "Came by pipeline" } });
  assert.equal(activities.data?.[0]?.route, "pipeline");
}

const [baseUrl = "", token = "", tenant = ""] = process.argv.slice(2);
void main(baseUrl, token, tenant);
