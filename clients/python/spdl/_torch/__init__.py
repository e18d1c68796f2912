"""What a torch user has, told as a description: transforms of torchvision and timm, data sets of files, DataLoader's arguments.

Nothing here imports torch, torchvision or timm: objects are known by the names of their classes and asked for their attributes.
"""
