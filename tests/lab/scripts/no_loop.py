print("nothing to see", flush=True)
