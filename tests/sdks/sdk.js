// Sends what the suite `sdks` expects with an SDK for Node, whose package is the first argument: who there is, then
// events, then more events once a line comes in.
const [name, host, writeKey] = process.argv.slice(2);
const sdkPackage = require(name);
const batches = { flushAt: 3, flushInterval: 200 };

const starts = {
  '@segment/analytics-node'() {
    const sdk = new sdkPackage.Analytics({ host, writeKey, maxRetries: 20, ...batches });
    return [sdk, () => sdk.flush({ timeout: 60_000 })];
  },
  '@rudderstack/rudder-sdk-node'() {
    const options = { dataPlaneUrl: host, retryCount: 20, logLevel: 'error', ...batches };
    const sdk = new sdkPackage(writeKey, options);
    const flush = async () => {
      while (sdk.queue.length > 0) await sdk.flush();
      await sdk.pendingFlush;
    };
    return [sdk, flush];
  },
};
const [sdk, flush] = starts[name]();

async function track(part) {
  for (let number = 0; number < 7; number++) {
    sdk.track({ userId: 'ada', event: `${part} ${number}`, properties: { number } });
  }
  await flush();
  console.log('sent');
}

async function run() {
  const traits = { email: 'ada@acme.example', name: 'Ada', companyId: 'acme' };
  sdk.identify({ userId: 'ada', traits });
  sdk.group({ userId: 'bob', groupId: 'globex', traits: { name: 'Globex' } });
  await flush();
  await track('first');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await track('second');
  process.exit();
}

run();
