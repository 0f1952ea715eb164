// modbus-serial as a server with the content of image.json.
// usage: node modbus_serial.mjs NODE_MODULES IMAGE tcp PORT    or    ... serial DEVICE BAUD
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, imageFile, way, place, baud] = process.argv.slice(2);
const { ServerTCP, ServerSerial } = createRequire(`${modules}/`)('modbus-serial');
const image = JSON.parse(readFileSync(imageFile, 'utf8'));

const never = new Promise(() => {});
function exception(code) {
  return Object.assign(new Error(`exception ${code}`), { modbusErrorCode: code });
}
function get(table, address, unit) {
  if (unit !== image.unit) throw exception(11);
  if (table === image.holding && address === image.failing) throw exception(4);
  if (table === image.holding && address === image.busy) throw exception(6);
  if (table === image.holding && address === image.silent) return never;
  if (table[address] === undefined) throw exception(2);
  return table[address];
}
function set(table, address, value, unit) {
  get(table, address, unit);
  image.input[image.writes] += 1;
  if (!image.lies.includes(address) || table !== image.holding) table[address] = value;
  if (table === image.holding && image.follows.includes(address)) image.input[address] = value;
  if (table === image.coil && address === image.switch) image.discrete[address] = value;
}
const vector = {
  getCoil: (address, unit) => Boolean(get(image.coil, address, unit)),
  getDiscreteInput: (address, unit) => Boolean(get(image.discrete, address, unit)),
  getHoldingRegister: (address, unit) => get(image.holding, address, unit),
  getInputRegister: (address, unit) => get(image.input, address, unit),
  setCoil: (address, value, unit) => set(image.coil, address, Number(value), unit),
  setRegister: (address, value, unit) => set(image.holding, address, value, unit),
  // One request of several registers is one write.
  setRegisterArray: (address, values, unit) => {
    for (let i = 0; i < values.length; i++) {
      set(image.holding, address + i, values[i], unit);
      if (i > 0) image.input[image.writes] -= 1;
    }
  },
};
if (way === 'tcp') new ServerTCP(vector, { host: '127.0.0.1', port: Number(place), unitID: 255 });
else new ServerSerial(vector, { port: place, baudRate: Number(baud), unitID: image.unit });
