"""The device type PLANTED: the interpreter, sound or with one fault that `TG_PLANTED` names."""
