#!/usr/bin/env node
// Logistic regression as a trainer in JavaScript, for Node.js 18 and later, without packages.
//
//     mfl run experiment.toml --nodes 4 --trainer "node train.js --data FOLDER"
//     mfl node --server HOST:PORT --tls pki/site-a --trainer "node train.js --data my.csv"
//
// The same model as train.py in ../numpy: loss softplus(z) - y z with z = x w; y is 1 for the label 1, else 0. --data is a CSV file with a
// header whose last column is the label, or a folder of such files, one per node: the one with the node's name or, for the numbered nodes of a
// simulation, the one at that position, counted around.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');

const source = process.argv[process.argv.indexOf('--data') + 1];
const nodes = new Map(); // the data of a node by its name
let hello = null;

function load(node) {
  let file = source;
  if (fs.statSync(file).isDirectory()) {
    const files = fs.readdirSync(file).sort();
    const named = files.indexOf(`${node}.csv`);
    file = path.join(file, files[named >= 0 ? named : Number(node.split('-').pop()) % files.length]);
  }
  const rows = fs.readFileSync(file, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));
  const labels = rows.map((row) => row[row.length - 1]);
  return {x: rows.map((row) => Float64Array.from(row.slice(0, -1))), y: labels.map((label) => (label === 1 ? 1 : 0))};
}

const dot = (x, w) => x.reduce((sum, value, i) => sum + value * w[i], 0);
const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));

function loss({x, y}, w, rows) {
  return rows.reduce((sum, i) => { const z = dot(x[i], w); return sum + softplus(z) - y[i] * z; }, 0) / rows.length;
}

function gradient({x, y}, w, rows) {
  const g = new Float64Array(w.length);
  for (const i of rows) {
    const slope = (0.5 * (1 + Math.tanh(0.5 * dot(x[i], w))) - y[i]) / rows.length;
    for (let j = 0; j < g.length; ++j) g[j] += slope * x[i][j];
  }
  return g;
}

// Numbers in [0, 1) from a seed: mulberry32. Seeds above 2^53 lose their last digits in JSON.parse, the same ones every time.
function generator(seed) {
  let a = Number(BigInt(seed) & 0xffffffffn);
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function shuffled(count, draw) {
  const order = Array.from({length: count}, (_, i) => i);
  for (let i = count - 1; i > 0; --i) {
    const j = Math.floor(draw() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// d <- gamma d + g; w <- w - eta d
function train(data, w, d, request) {
  const {eta, gamma = 0, batch_size: size = data.y.length} = {...hello.hyper_parameters, ...request.hyper_parameters};
  const whole = size >= data.y.length;
  const draw = generator(request.seed);
  let order = [];
  let total = 0;
  for (let step = 0; step < request.steps; ++step) {
    if (order.length === 0) order = whole ? data.y.map((_, i) => i) : shuffled(data.y.length, draw);
    const rows = order.splice(0, size);
    if (!whole || step === 0) total += loss(data, w, rows);
    const g = gradient(data, w, rows);
    d = d.map((value, j) => gamma * value + g[j]);
    w = w.map((value, j) => value - eta * d[j]);
  }
  return {w, d, loss: total / (whole ? 1 : request.steps)};
}

// A safetensors file as {name: Float64Array}.
function unpack(body) {
  const tensors = {};
  if (body.length === 0) return tensors;
  const start = 8 + Number(body.readBigUInt64LE(0));
  for (const [name, {dtype, data_offsets: [begin, end]}] of Object.entries(JSON.parse(body.toString('utf8', 8, start)))) {
    const bytes = Uint8Array.from(body.subarray(start + begin, start + end)).buffer;
    tensors[name] = Float64Array.from(dtype === 'F64' ? new Float64Array(bytes) : new Float32Array(bytes));
  }
  return tensors;
}

function pack(tensors) {
  const index = {};
  const parts = [];
  let offset = 0;
  for (const [name, values] of Object.entries(tensors)) {
    const numbers = hello.precision === 'f64' ? values : Float32Array.from(values);
    const bytes = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    index[name] = {dtype: hello.precision.toUpperCase(), shape: [values.length], data_offsets: [offset, offset + bytes.length]};
    offset += bytes.length;
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts]);
}

function frame(header, body = Buffer.alloc(0)) {
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(12);
  prefix.writeUInt32LE(text.length, 0);
  prefix.writeBigUInt64LE(BigInt(body.length), 4);
  return Buffer.concat([prefix, text, body]);
}

function answer(request, tensors) {
  if (request.message === 'hello') {
    hello = request;
    for (const node of request.nodes) nodes.set(node, load(node));
    const columns = nodes.get(request.nodes[0]).x[0].length;
    return frame({message: 'hello', protocol: 1, trainer: 'javascript logistic', vectors: ['w', 'd'],
      samples: Object.fromEntries([...nodes].map(([node, {y}]) => [node, y.length])),
      tensors: [{name: 'weights', shape: [columns]}], hyper_parameters: ['eta', 'gamma', 'batch_size']});
  }
  if (request.message === 'initialise') {
    const columns = nodes.get(hello.nodes[0]).x[0].length;
    return frame({message: 'initialised'}, pack({'w/weights': new Float64Array(columns)}));
  }
  const data = nodes.get(request.node);
  const reply = {node: request.node, samples: data.y.length, metrics: {}};
  const w = tensors['w/weights'];
  if (request.message === 'evaluate') return frame({message: 'evaluated', ...reply, loss: loss(data, w, data.y.map((_, i) => i))});
  const trained = train(data, w, tensors['d/weights'] || new Float64Array(w.length), request);
  const vectors = Object.fromEntries(hello.vectors.map((name) => [`${name}/weights`, trained[name]]));
  return frame({message: 'trained', ...reply, round: request.round, loss: trained.loss}, pack(vectors));
}

const connection = new net.Socket({fd: Number(process.env.MFL_TRAINER_FD), readable: true, writable: true});
let received = Buffer.alloc(0);
connection.on('data', (part) => {
  received = Buffer.concat([received, part]);
  while (received.length >= 12) {
    const header = received.readUInt32LE(0);
    const length = 12 + header + Number(received.readBigUInt64LE(4));
    if (received.length < length) return;
    const request = JSON.parse(received.toString('utf8', 12, 12 + header));
    const body = received.subarray(12 + header, length);
    if (request.message === 'stop') process.exit(0);
    try {
      connection.write(answer(request, unpack(body)));
    } catch (error) {
      connection.write(frame({message: 'error', text: String(error)}));
    }
    received = received.subarray(length);
  }
});
connection.on('end', () => process.exit(0));
connection.on('error', () => process.exit(0));
