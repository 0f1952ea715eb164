package localtest

const inventoryFile = `inventory: capd/v1
links:
  PLC-NET: {transport: modbus_tcp, endpoint: "127.0.0.1:502", timeout: 1s}
devices:
  PS07-PLC: {link: PLC-NET, unit_id: 1}
assets:
  PS07-PLC-01:
    title: Station PLC
    location: plant/ps07/control
    device: PS07-PLC
    points:
      mode: {at: {table: input_register, address: 1, type: uint16}, labels: {0: off, 1: local, 2: remote}, role: status, update: 50ms}
      e_stop_ok: {at: {table: input_register, address: 2, type: uint16, bit: 0}, role: status, update: 50ms}
  PS07-FCV-04:
    title: Discharge control valve
    class: control_valve
    location: plant/ps07/discharge
    aliases: ["出口调节阀", "discharge valve"]
    device: PS07-PLC
    points:
      setpoint: {at: {table: holding_register, address: 100, type: uint16}, scale: 0.1, unit: "%", role: setpoint, access: read_write, envelope: {min: 0, max: 100, max_step: 20}}
      position: {at: {table: input_register, address: 14, type: uint16}, scale: 0.1, unit: "%", role: feedback, update: 20ms}
`

const contractFile = `contract: capd/v1
tool: ps07-fcv-04
version: 1.0.0
title: Discharge control valve FCV-04
asset: PS07-FCV-04
tags: [valve, flow]
points: {setpoint: PS07-FCV-04.setpoint, position: PS07-FCV-04.position, mode: PS07-PLC-01.mode, e_stop_ok: PS07-PLC-01.e_stop_ok}
actions:
  status:
    name: valve_status
    effect: read
    title: Valve status
    description: Reads how far the discharge valve is open.
    intents: ["how far is the discharge valve open", "出口阀开度是多少"]
    returns: [position, setpoint]
    security: {permissions: [valve:read], scopes: ["site:ps07"]}
  set_opening:
    name: set_discharge_valve
    effect: actuate
    risk: high
    title: Set the discharge valve
    description: Moves the discharge valve to an opening and waits until the position transmitter agrees.
    intents: ["open the discharge valve to 60 %", "把出口阀开到60%"]
    parameters:
      type: object
      additionalProperties: false
      required: [opening]
      properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening of the valve}}
    security: {permissions: [valve:write], scopes: ["site:ps07"]}
    permits:
      - {id: remote, when: 'mode == "remote"', max_age: 1500ms, code: LOCAL_MODE, reason: The PLC selector is not in remote}
      - {id: e_stop, when: 'e_stop_ok', max_age: 1500ms, code: INTERLOCKED, reason: An emergency stop is pressed}
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 600ms, poll: 20ms, settle: 60ms, expect: [{point: position, near: opening, tolerance: 1.5}]}
`

const profileFile = `profile: capd/v1
name: reader
tools: ["valve_*"]
`

// Critical is the critical tool that WriteCritical adds.
const Critical = "reset_vfd_fault"

const criticalFile = `contract: capd/v1
tool: ps07-fcv-04-stroke
version: 1.0.0
title: Stroke test of FCV-04
asset: PS07-FCV-04
points: {setpoint: PS07-FCV-04.setpoint, position: PS07-FCV-04.position}
actions:
  stroke:
    name: reset_vfd_fault
    effect: actuate
    risk: critical
    title: Critical move of the discharge valve
    description: Moves the discharge valve for a test, whatever the process needs.
    intents: ["stroke test of the valve"]
    parameters:
      type: object
      additionalProperties: false
      required: [opening]
      properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening of the valve}}
    security: {permissions: [valve:write], scopes: ["site:ps07"]}
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 600ms, poll: 20ms, settle: 60ms, expect: [{point: position, near: opening, tolerance: 1.5}]}
`
