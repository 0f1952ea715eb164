// jsmodbus as a server with the content of image.json.
// usage: node jsmodbus.mjs NODE_MODULES IMAGE tcp PORT    or    ... serial DEVICE
//
// Its serial server wants no more of its port than events and writing, so a device that is raw already needs no native module.
// It answers every unit, and what lies beyond its buffers with a reply that is too short.
import { EventEmitter } from 'node:events';
import { constants, createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';

const [modules, imageFile, way, place] = process.argv.slice(2);
const modbus = createRequire(`${modules}/`)('jsmodbus');
const image = JSON.parse(readFileSync(imageFile, 'utf8'));

function words(table) {
  const buffer = Buffer.alloc(2 * (1 + Math.max(...Object.keys(table).map(Number))));
  for (const [address, word] of Object.entries(table)) buffer.writeUInt16BE(word, 2 * address);
  return buffer;
}
function bits(table) {
  const buffer = Buffer.alloc(1 + Math.max(...Object.keys(table).map(Number)) / 8);
  for (const [address, bit] of Object.entries(table)) buffer[address >> 3] |= bit << address % 8;
  return buffer;
}
const holding = words(image.holding), input = words(image.input), coils = bits(image.coil), discrete = bits(image.discrete);

class Line extends EventEmitter {
  constructor(device) {
    super();
    this.out = createWriteStream(device, { flags: constants.O_WRONLY | constants.O_NOCTTY });
    createReadStream(device, { flags: constants.O_RDONLY | constants.O_NOCTTY }).on('data', (bytes) => this.emit('data', bytes));
  }
  write(bytes, done) {
    this.out.write(bytes, done);
  }
}

const listener = net.createServer(), memory = { holding, input, coils, discrete };
const server = way === 'serial' ? new modbus.server.RTU(new Line(place), memory) : new modbus.server.TCP(listener, memory);
function written() {
  input.writeUInt16BE(input.readUInt16BE(2 * image.writes) + 1, 2 * image.writes);
  for (const address of image.follows) holding.copy(input, 2 * address, 2 * address, 2 * address + 2);
  const at = image.switch >> 3, mask = 1 << image.switch % 8;
  discrete[at] = (discrete[at] & ~mask) | (coils[at] & mask);
}
for (const what of ['postWriteSingleRegister', 'postWriteSingleCoil']) server.on(what, written);
// These two come twice for each request: once with the buffer, once with the request.
for (const what of ['postWriteMultipleRegisters', 'postWriteMultipleCoils']) server.on(what, (first) => Buffer.isBuffer(first) || written());
if (way === 'tcp') listener.listen(Number(place), '127.0.0.1');
