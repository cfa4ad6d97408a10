print("plan")
