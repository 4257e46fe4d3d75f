// Runs Perfetto's trace processor, as its viewer ships it for browsers (engine_bundle.js and trace_processor.wasm), as a filter: bytes of
// TraceProcessorRpcStream on standard input, its replies on standard output.  usage: node trace_engine.js FOLDER_OF_THE_VIEWER
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const read = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

// Files of the viewer, asked for at once and waited for, as workers may.
class XMLHttpRequest {
    open(method, url) {
        this.url = url;
    }
    send() {
        const bytes = read(this.url);
        this.status = 200;
        this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
}

// A worker of a browser, as far as the engine looks at one: no `process`, so that it does not take itself for a program of Node.
const self = { location: { href: "https://viewer/engine_bundle.js" }, onmessage: null };
const say = (text) => process.stderr.write(`${text}\n`);
const world = vm.createContext({
    self, XMLHttpRequest, WorkerGlobalScope: class {}, importScripts() {}, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout, performance, crypto,
    console: { log: say, info: say, warn: say, error: say },
    fetch: async (url) => new Response(read(url), { headers: { "Content-Type": "application/wasm" } }),
});
vm.runInContext(read("engine_bundle.js").toString("utf8"), world);

const port = { onmessage: null, postMessage: (bytes) => fs.writeSync(1, Buffer.from(bytes)) };
const words = fs.readFileSync(0);
const inside = vm.runInContext("(n) => new Uint8Array(n)", world)(words.length); // the engine requires an array of its own world
inside.set(words);
self.onmessage({ data: port });
setTimeout(() => port.onmessage({ data: inside }), 0);
