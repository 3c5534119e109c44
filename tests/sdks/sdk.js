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

// An SDK may have several batches on their way: each call says itself when it is done.
async function send(calls) {
  const sent = calls.map(
    ([method, message]) =>
      new Promise((resolve, reject) =>
        sdk[method](message, (error) => (error ? reject(error) : resolve())),
      ),
  );
  await flush();
  await Promise.all(sent);
}

async function track(part) {
  const message = (number) => ({ userId: 'ada', event: `${part} ${number}`, properties: { number } });
  await send([0, 1, 2, 3, 4, 5, 6].map((number) => ['track', message(number)]));
  console.log('sent');
}

async function run() {
  const traits = { email: 'ada@acme.example', name: 'Ada', companyId: 'acme' };
  await send([
    ['identify', { userId: 'ada', traits }],
    ['group', { userId: 'bob', groupId: 'globex', traits: { name: 'Globex' } }],
  ]);
  await track('first');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await track('second');
  process.exit();
}

run();
